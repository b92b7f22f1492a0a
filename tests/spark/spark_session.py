"""How a Spark session is made for the tests, in this process or in one of its own."""

from __future__ import annotations

import os
import sys

ONE_LOST = """
import json, os, signal, sys
from pathlib import Path
sys.path[:0] = [{tests!r}]
from spark_session import session
import fugu
place = Path({place!r})

class Lost:  # sent by value
    def __init__(self, run):
        self.run = run

    def __call__(self, batches):
        from pyspark import TaskContext
        told = list(self.run(batches))
        task = TaskContext.get()
        if task.partitionId() == 1 and task.attemptNumber() == 0:
            worker = Path("/proc/self/status").read_text()
            daemon = int(worker.split("PPid:")[1].split()[0])
            executor = int(Path(f"/proc/{{daemon}}/status").read_text().split("PPid:")[1].split()[0])
            Path({place!r}, "lost").touch()
            os.kill(executor, signal.SIGKILL)
        yield from told
"""
"""The head of a program in which the executor of one partition is killed at its first attempt, when all is written."""


def session(folder, master="local[2,4]", **more):
    """`local[2,4]`: two threads, four attempts at a task. `more`: settings, with underscores for dots."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    quiet = folder / "log4j2.properties"
    quiet.write_text(
        "rootLogger.level = off\nrootLogger.appenderRef.stdout.ref = console\nappender.console.type = Console\n"
        "appender.console.name = console\nappender.console.layout.type = PatternLayout\n"
    )
    settings = {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1", "spark.local.dir": str(folder),
        "spark.ui.showConsoleProgress": "false", "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{quiet}",
        **{name.replace("_", "."): value for name, value in more.items()},
    }  # fmt: skip
    made = SparkSession.builder.master(master).appName("fugu tests")
    for name, value in settings.items():
        made = made.config(name, value)
    return made.getOrCreate()
