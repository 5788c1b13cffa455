"""How text looks: styles as escape sequences, how much of long things is shown."""

from __future__ import annotations

from kdbg.views.render.style import FIELD_COLOURS, STYLES, Look

from ..cases import for_each


@for_each("style", STYLES)
@for_each("system", ["STANDARD", "EIGHT_BIT", "TRUECOLOR"])
def test_a_style_is_switched_on_and_off(style: str, system: str) -> None:
    look = Look(system)
    assert look.paint(style, "text") == f"{look.on(style)}text{look.off(style)}"
    if STYLES[style]:
        assert look.on(style).startswith("\x1b[")
        assert look.off(style) == "\x1b[0m"
    else:
        assert look.paint(style, "text") == "text"


def test_a_look_without_colour_paints_nothing() -> None:
    assert all(Look().paint(style, "[bold]x[/]") == "[bold]x[/]" for style in STYLES)


def test_every_field_colour_is_there_and_differs_from_its_neighbour() -> None:
    colours = [Look("STANDARD").on(f"field{number}") for number in range(FIELD_COLOURS)]
    assert len(set(colours)) == FIELD_COLOURS


def test_long_things_are_shown_whole_unless_a_terminal_has_to_fit_them() -> None:
    pipe, terminal, narrow = Look(), Look(width=100, full=False), Look(width=20, full=False)
    assert pipe.max_items > 1 << 60
    assert pipe.max_text > 1 << 60
    assert (terminal.max_items, terminal.max_text) == (12, 76)
    assert narrow.max_text == 40


def test_a_summary_fits_the_width_unless_asked_not_to() -> None:
    assert Look(width=100).max_line == 100
    assert Look(width=100, long_lines=True).max_line > 1 << 60
