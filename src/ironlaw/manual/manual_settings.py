"""What mkdocs.yml would say. It is written anew for every build, so that there is one place for it."""

from __future__ import annotations

from typing import Any

from ironlaw.manual import contents, page_sources

STYLE = "assets/ironlaw.css"
SCHEMES = (("default", "light", "dark", "weather-night"), ("slate", "dark", "light", "weather-sunny"))


def settings(pages: list[str], home: str) -> dict[str, Any]:
    """What mkdocs.yml says."""
    reference = [name for name in pages if name.startswith("reference/")]
    palette = [
        {
            "media": f"(prefers-color-scheme: {name})", "scheme": scheme, "primary": "custom", "accent": "custom",
            "toggle": {"icon": f"material/{icon}", "name": f"Switch to {other}"},
        }
        for scheme, name, other, icon in SCHEMES
    ]  # fmt: skip
    python = {
        "paths": [str(page_sources.HERE.parents[1])],
        "options": {
            "members_order": "source", "show_source": False, "show_submodules": False, "docstring_style": "google", "heading_level": 2,
            "show_root_full_path": False, "show_bases": False, "separate_signature": True, "show_signature_annotations": True,
            "show_if_no_docstring": False, "filters": ["!^_"], "merge_init_into_class": True,
            "extensions": ["ironlaw.manual.docstrings"], "docstring_section_style": "list", "line_length": 100,
        },
    }  # fmt: skip
    return {
        "site_name": "ironlaw",
        "site_description": "Where the time goes in an ML system: T = D/BW + O/R + L",
        "docs_dir": "docs",
        "use_directory_urls": False,  # pages open from a disk too
        "nav": contents.navigation((name for name in pages if name not in reference), reference),
        "theme": {
            "name": "material", "font": False, "palette": palette, "icon": {"logo": "material/scale-balance"},
            "features": [
                "navigation.footer", "navigation.top", "toc.follow", "navigation.sections", "search.highlight", "content.code.copy",
            ],
        },
        "plugins": [{"search": {"lang": "en"}}, {"mkdocstrings": {"handlers": {"python": python}, "enable_inventory": False}}],
        "markdown_extensions": [
            "tables", "sane_lists", "admonition", {"toc": {"permalink": "#"}}, "pymdownx.highlight", "pymdownx.superfences",
        ],
        "extra_css": [STYLE],
        "extra": {"generator": False, **({"homepage": home} if home else {})},
        "validation": {"omitted_files": "warn", "absolute_links": "warn", "unrecognized_links": "warn", "anchors": "warn"},
    }  # fmt: skip
