"""A page that explains a release to people: one HTML file, made from the certificate alone, that works offline."""

from fugu.report.page import page as page
from fugu.report.page import write as write
