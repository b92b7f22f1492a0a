"""A page that explains a release to people: one HTML file, made from the certificate alone, that works offline."""

from fugu.files import write_text
from fugu.report.page import page as page

write = write_text
