"""`python -m site_hooks`: write the generated pages of docs/reference."""

from site_hooks.generated import PAGES

for path, page in PAGES.items():
    path.write_text(page(), encoding="utf-8")
    print(f"wrote {path.name}")
