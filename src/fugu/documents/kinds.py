"""Which class reads which document: by its schema and, of certificates with laws, by its kind.

Each class is imported when it is met: documents of records, of entries and of trainings are proved further down."""

from __future__ import annotations

from typing import Any

from fugu.documents.document import Document, is_unsealed, later
from fugu.documents.promises import Promising
from fugu.errors import CertificateError
from fugu.visible import Json

SCHEMAS = {
    "fugu/certificate/1": "fugu.documents.certificate:Certificate",
    "fugu/per-entry/1": "fugu.documents.per_entry:PerEntryCertificate",
    "fugu/sequence/1": "fugu.queries.sequence_certificate:SequenceCertificate",
    "fugu/sequence/2": "fugu.queries.sequence_certificate:BudgetedSequenceCertificate",
    "fugu/records/1": "fugu.queries.records_certificate:RecordsCertificate",
    "fugu/training/1": "fugu.training.record:TrainingCertificate",
    "fugu/composition/1": "fugu.documents.composition:CompositionCertificate",
    "fugu/release/1": "fugu.documents.release:ReleaseDocument",
}
"""The documents that `fugu.verify` reads."""
LAWS = {
    "additive": "fugu.documents.additive:AdditiveCertificate",
    "mixed": "fugu.documents.additive:MixedCertificate",
    "vector": "fugu.documents.additive:VectorCertificate",
    "analysis": "fugu.documents.additive:AnalysisCertificate",
    "correlated": "fugu.documents.additive:CorrelatedCertificate",
    "channel": "fugu.documents.channel:ChannelCertificate",
}
"""The kinds of certificates with laws."""
SAME_QUERY = "fugu.queries.sequence_certificate:same_query"
"""What holds a document of entries against the query that it names, further down."""


def read(content: Any) -> Document:
    """The document that decoded JSON is, by its schema; CertificateError if it is none."""
    schema = content.get("schema") if isinstance(content, dict) else None
    default = "fugu/sequence/1" if is_unsealed(content) else "fugu/certificate/1"
    found = later(SCHEMAS[schema if isinstance(schema, str) and schema in SCHEMAS else default])
    document: Document = found.parse(content)
    return document


def inner(body: Json) -> Promising:
    """The certificate inside a release document, read and checked by its own schema."""
    place = SCHEMAS.get(str(body.get("schema")))
    if place is None or not issubclass(kind := later(place), Promising):
        raise CertificateError("a release document holds something that is not a certificate")
    document: Promising = kind.parse(body)
    return document
