"""Text within HTML and SVG."""

from __future__ import annotations

import html

from countwise.errors import printable

__all__ = ["escape"]


def escape(text: str) -> str:
    """Return any text as text of HTML or SVG: no tags, and no characters that XML does not allow.

    Examples
    --------
    >>> from countwise.working.markup import escape
    >>> escape("<b> & \\x1b")
    '&lt;b&gt; &amp; \\\\x1b'
    """
    return html.escape(printable(text, lines=False)).replace("\ufffe", "").replace("\uffff", "")
