"""One source rendered alone, as the only page of a project."""

from analysis.report import render_site


def render(source, folder, **options):
    """Render a source into a folder and return the page; its project is written if it has none."""
    settings = source.parent / "_quarto.yml"
    if not settings.is_file():
        settings.write_text(f"project: {{render: [{source.name}]}}\n", encoding="utf-8")
    (page,) = render_site(source.parent, folder, only=[source.stem], **options)
    return page
