"""The sheets page: one press checks all, hints open one by one, the solution afterwards, and progress is kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.sheets import folder, progress
from engine.sheets.folder import load, names
from engine.sheets.sheet import Verdict
from tests.sentences import says
from tests.views.pages import asked, html_of, messages_of, opened
from tests.views.test_lab_page import packed
from views.access import visitor
from views.sheets import menu
from views.sheets.panel import SheetWork, submission_of

SHEET = load("cs121-tiling")
ASKS = load("access-sectors")


def with_text(app: AppTest, text: str) -> AppTest:
    """The editor's text, as the browser tells it."""
    object.__setattr__(app.session_state["drafts"][f"sheet-{SHEET.name}"], "text", text)
    return app


def checked(app: AppTest) -> str:
    app.button(key="check_sheet").click().run()
    assert not app.exception, [entry.value for entry in app.exception]
    return html_of(app)


def shown(app: AppTest) -> str:
    return "\n".join(entry.value for entry in [*app.markdown, *app.code, *app.caption])


def test_the_first_sheet_stands_there_and_a_wrong_address_is_said() -> None:
    assert asked(opened("sheets"))["sheet"] == names()[0]
    app = opened("sheets", sheet="homework")
    assert "There is no sheet 'homework'" in messages_of(app)[0]


def test_a_sheet_from_its_start_to_its_solution() -> None:
    app = opened("sheets", sheet=SHEET.name, student="Anna")
    assert "How do we calculate" not in shown(app) and SHEET.solution.strip() not in shown(app)
    said = checked(app)
    assert said.count('<li class="bad">') == 7 and "0 instead of" in said and "1 of 8 passed" in said
    for number, hint in enumerate(SHEET.hints, start=1):
        assert f"**Hint {number}.**" not in shown(app)
        app.button(key="hint").click().run()
        assert f"**Hint {number}.** {hint}" in shown(app)
    assert SHEET.solution.strip() not in shown(app)
    app.button(key="solution").click().run()
    assert SHEET.solution.strip() in shown(app)
    said = checked(with_text(app, SHEET.solution))
    assert said.count('<li class="ok">') == 8 and "8 of 8 passed" in said
    assert progress.of("Anna", SHEET) == progress.Progress(
        dict.fromkeys(
            ("answer", "findings", "from-the-tiles", "no-shuffle", "all-threads", "shared-work", "all-lanes", "border"),
            True,
        ),
        len(SHEET.hints),
        True,
    )
    said = checked(with_text(app, SHEET.start))
    assert said.count('<li class="bad">') == 7 and "8 of 8 passed, 7 of them earlier" in said
    again = html_of(opened("sheets", sheet=SHEET.name, student="Anna"))
    assert "8 of 8 passed" in again and says("sheets.checked-last", again)
    assert "0 of 8 passed" in html_of(opened("sheets", sheet=SHEET.name, student="Ben"))
    disguised = html_of(opened("sheets", sheet=SHEET.name, student=" An\x1bna "))
    assert "0 of 8 passed" in disguised  # it is "An na", whom a terminal can print


def test_questions_are_answered_checked_and_there_again() -> None:
    app = opened("sheets", sheet=ASKS.name, student="Anna")
    for question in ASKS.questions[1:]:
        app.text_input(key=f"answer {ASKS.name} {question.name}").set_value(f"{question.answer:g}")
    said = checked(app)
    assert "4 of 5 passed" in said and "Not answered yet." in said and ASKS.questions[1].because in said
    app.text_input(key=f"answer {ASKS.name} offset").set_value("4")
    assert ASKS.questions[0].advice in checked(app)
    again = opened("sheets", sheet=ASKS.name, student="Anna")
    assert again.text_input(key=f"answer {ASKS.name} offset").value == "4"
    again.text_input(key=f"answer {ASKS.name} offset").set_value("5")
    again.run()  # what a run before has said may never have reached the browser: each says it
    assert again.text_input(key=f"answer {ASKS.name} offset").proto.default == "5"
    assert again.text_input(key="student").proto.default == "Anna"
    assert "5 of 5 passed" in checked(again) and says("sheets.because-offset", shown(again))


def test_the_progress_of_all_students_is_shown_to_permitted_roles() -> None:
    assert "Nobody has begun yet." in html_of(opened("machine"))
    progress.remember("Anna <b>", SHEET, [Verdict("answer", True, "Right."), Verdict("findings", False, "No.")])
    progress.open_solution("ben", ASKS)
    app = opened("machine")
    said = html_of(app)
    assert "Anna &lt;b&gt;" in said and "1 of 8" in said and "0 of 5" in said
    app.selectbox(key="sheet to look at").set_value(SHEET.name).run()
    said = html_of(app)
    assert "✓" in said and "from-the-tiles" in said and "ben" not in said


def test_a_sheet_that_is_left_out_is_named_to_those_who_see_students(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "week-3/sheet.toml: `text` is missing <b>."
    monkeypatch.setattr(menu, "faults", lambda: {"week-3": why})
    for page in ("sheets", "machine"):
        assert "week-3/sheet.toml" in html_of(opened(page)) and "missing <b>" not in html_of(opened(page))
    less = replace(visitor.rights(), sees_students=False)
    monkeypatch.setattr(visitor, "rights", lambda: less)
    assert "week-3/sheet.toml" not in html_of(opened("sheets"))


def test_a_server_without_a_sheet_shows_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "names", lambda: ())
    assert len(messages_of(opened("sheets"))) == 1


def test_a_press_that_is_given_up_ends_at_once_and_keeps_nothing() -> None:
    session = "somebody"
    endless = 'extern "C" __global__ void matmul_tiled(const float *M, const float *N, float *P, int width)\n'
    endless += "{ for (unsigned int i = 0; i < 4000000000u; ++i) atomicAdd(P, M[i % 7]); }\n"
    made = SheetWork(SHEET, submission_of(SHEET, endless, "mine.cu", {}), session, 1)
    while made.progress[1].endswith("Starting"):
        made.advance(0.05)
    made.stop()
    assert made.finished and made.stopped and not made.found
    assert made.advance(10.0) is False


def test_a_link_brings_a_source_and_a_damaged_link_is_reported() -> None:
    app = opened("sheets", sheet=SHEET.name, source=packed("// mine\n"))
    assert len(drafts_of(app)) == 2 and "// mine\n" in drafts_of(app).values() and "source" not in asked(app)
    app = opened("sheets", sheet=SHEET.name, source="no source")
    assert "cannot be read" in messages_of(app)[0]
    assert drafts_of(app) == {OWN: SHEET.start}


def test_a_link_leaves_the_readers_own_file_alone_until_told_otherwise() -> None:
    app = with_text(opened("sheets", sheet=SHEET.name), "// my own\n")
    for _ in range(2):  # the same link again makes no third draft
        app.query_params["source"] = packed("// theirs\n")
        app.session_state["source"] = packed("// theirs\n")
        app.run()
        assert (
            sorted(drafts_of(app).values()) == ["// my own\n", "// theirs\n"] and drafts_of(app)[OWN] == "// my own\n"
        )
        assert messages_of(app, "info")
    app.session_state["source"] = packed("// my own\n")  # a link with the reader's own text
    app.run()
    assert not messages_of(app, "info")
    app.session_state["source"] = packed("// theirs\n")
    app.run()
    app.button(key="back_to_mine").click().run()
    assert not messages_of(app, "info") and drafts_of(app)[OWN] == "// my own\n"
    app.session_state["source"] = packed("// theirs\n")
    app.run()
    app.button(key="replace_mine").click().run()
    assert drafts_of(app)[OWN] == "// theirs\n" and not messages_of(app, "info")


OWN = f"sheet-{SHEET.name}"


def drafts_of(app: AppTest) -> dict[str, str]:
    return {id: one.text for id, one in app.session_state["drafts"].items()}


def test_the_menu_says_how_far_its_reader_is_in_each_sheet() -> None:
    app, title = opened("sheets", sheet=SHEET.name, student="Anna"), SHEET.title.replace("`", "")
    menu = app.selectbox(key="sheet")
    assert menu.label == "Lab sheet" and title in menu.options
    checked(app)
    assert f"{title} · 1 of 8" in app.selectbox(key="sheet").options
    checked(with_text(app, SHEET.solution))
    menu = app.selectbox(key="sheet")
    assert f"{title} · done ✓" in menu.options and menu.label == f"Lab sheet (1 of {len(names())} done)"
    assert menu.value == SHEET.name and "8 of 8 passed" in html_of(app)
    older = opened("sheets", sheet=f"{title} · 1 of 8", student="Anna")  # a menu not yet redrawn
    assert not messages_of(older) and asked(older)["sheet"] == SHEET.name
    menu = opened("sheets", sheet=SHEET.name, student="Ben").selectbox(key="sheet")
    assert not any(" · " in option for option in menu.options)


def test_a_typed_name_is_there_at_the_browsers_next_visit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor, "named_browser", lambda: "ada")
    app = opened("sheets", sheet=SHEET.name)
    app.text_input(key="student").set_value("Ada").run()
    assert opened("sheets", sheet=SHEET.name).text_input(key="student").value == "Ada"
    linked = opened("sheets", sheet=SHEET.name, student="Ben")
    assert linked.text_input(key="student").value == "Ben", "the address's name comes first"
    assert opened("sheets", sheet=SHEET.name).text_input(key="student").value == "Ada"
    monkeypatch.setattr(visitor, "named_browser", lambda: "bob")
    other = opened("sheets", sheet=SHEET.name)
    assert other.text_input(key="student").value == ""
    monkeypatch.setattr(visitor, "named_browser", lambda: "ada")
    app.text_input(key="student").set_value("").run()
    assert opened("sheets", sheet=SHEET.name).text_input(key="student").value == ""


def test_the_rules_of_a_course_are_on_the_page_and_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rules = f"[{ASKS.name}]\ndeadline = 2020-01-01T12:00:00Z\nlate = 0.5\nattempts = 2\n"
    (tmp_path / "course.toml").write_text(rules)
    monkeypatch.setenv(folder.ELSEWHERE, str(tmp_path))
    folder._listed_at.cache_clear()
    app = opened("sheets", sheet=ASKS.name, student="Anna")
    said = html_of(app)
    assert says("course.past", said) and "2 attempts left of 2." in said
    assert "1 attempt left of 2." in checked(app)
    said = checked(app)
    assert says("course.used-up", said) and app.button(key="check_sheet").disabled
    assert progress.of("Anna", load(ASKS.name)).attempts == 2
    (tmp_path / "course.toml").write_text(f"[{ASKS.name}]\ndeadline = 2999-01-01T12:00:00Z\n")
    folder._listed_at.cache_clear()
    app = opened("sheets", sheet=ASKS.name, student="Ben")
    for _ in ASKS.hints:
        app.button(key="hint").click().run()
    assert "Due 1 January 2999, 12:00 (UTC)." in html_of(app)
    assert says("course.solution", shown(app)) and "solution" not in {button.key for button in app.button}


def test_the_progress_says_where_students_are_stuck() -> None:
    first = SHEET.checks[0].name
    progress.begin_attempt("Anna", SHEET)
    progress.remember("Anna", SHEET, [Verdict(first, False, "No.")])
    app = opened("machine")
    assert f"{first} (1)" in html_of(app)
    app.selectbox(key="sheet to look at").set_value(SHEET.name).run()
    assert f"Students are stuck at: {first} (1)." in html_of(app)
