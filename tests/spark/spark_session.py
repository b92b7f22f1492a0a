"""How a Spark session is made for the tests, in this process or in one of its own."""

from __future__ import annotations

import os
import sys


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
