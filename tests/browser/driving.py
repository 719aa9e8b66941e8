"""One way to drive a page in any browser, so that what a person does is written once.

A driver gives six things: open an address, run a function in the page, point, type, the size of
the window, and what was noticed. All else is the same for each.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Dialog, Page

from tests.browser.bidi import Firefox

_PATIENCE = 60.0
KEYS = {
    "Enter": "\ue007",
    "Tab": "\ue004",
    "Space": " ",
    "Home": "\ue011",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}

# Elements that are seen, through the roots of custom elements at `>>>`, with a text in them.
_FIND = """
const inside = (place, css) => [...(place.shadowRoot ?? place).querySelectorAll(css)];
const find = (css, text) => css.split(" >>> ")
  .reduce((places, part) => places.flatMap((place) => inside(place, part)), [document])
  .filter((each) => each.checkVisibility() && (text == null || each.textContent.includes(text)));
"""
# A breach of the content policy is an event in every browser, a line of the console in some.
_WATCH = """() => addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  (window.breaches ??= []).push(`${violatedDirective}: ${blockedURI}`))"""


class Tab(ABC):
    """A page of a person, by the means of one browser."""

    def __init__(self) -> None:
        self.noises: list[str] = []
        self.requests: list[tuple[str, str]] = []

    @abstractmethod
    def go(self, url: str) -> None:
        """Open an address, and wait until it has loaded."""

    @abstractmethod
    def reload(self) -> list[str]:
        """Load the page anew whatever it asks, and return what it asked."""

    @abstractmethod
    def run(self, function: str, *given: Any) -> Any:
        """What a function of JavaScript returns in the page."""

    @abstractmethod
    def point(self, x: float, y: float, times: int) -> None:
        """Press the pointer's button there, so many times."""

    @abstractmethod
    def type(self, text: str) -> None:
        """Press the keys of a text; those of KEYS have a character of their own."""

    @abstractmethod
    def resize(self, width: int, height: int) -> None:
        """The size of the window."""

    @abstractmethod
    def share(self) -> Tab:
        """Another tab of the same person."""

    @abstractmethod
    def before(self, function: str) -> None:
        """A function that every page runs before its own scripts."""

    def until(self, function: str, *given: Any) -> Any:
        """Wait until a function returns something true; no page is too slow within a minute."""
        end = time.monotonic() + _PATIENCE
        while not (found := self.run(function, *given)):
            assert time.monotonic() < end, f"never came: {function} {given}; {self.noises}"
            time.sleep(0.03)
        return found

    def see(self, css: str, text: str | None = None, count: int | None = None) -> None:
        """Wait until elements are seen, at least one or just so many."""
        script = f"(css, text, count) => {{ {_FIND} const found = find(css, text).length;"
        self.until(
            f"{script} return count == null ? found > 0 : found === count; }}", css, text, count
        )

    def texts(self, css: str) -> list[str]:
        """The texts of elements, as they are seen."""
        found: list[str] = self.run(
            f"(css) => {{ {_FIND} return find(css).map((each) => each.innerText); }}", css
        )
        return found

    def click(self, css: str, text: str | None = None, times: int = 1) -> None:
        """Point at the middle of the first such element, when it can be pointed at.

        A page may move under the pointer, as it may under a hand, or draw the button anew while
        it is pressed: then again.
        """
        missed = True
        while missed:
            x, y = self.until(
                f"""(css, text) => {{ {_FIND}
                  const [found] = find(css, text);
                  if (!found || found.disabled) return null;
                  found.scrollIntoView({{ block: "center", behavior: "instant" }});
                  window.missed = true;
                  found.addEventListener("click", () => (window.missed = false), true);
                  const box = found.getBoundingClientRect();
                  return [box.x + box.width / 2, box.y + box.height / 2];
                }}""",
                css,
                text,
            )
            self.point(x, y, times)
            missed = self.run("() => window.missed === true")

    def fill(self, css: str, text: str) -> None:
        """Type into a field, in place of what it holds."""
        self.see(css)
        self.run(f"(css) => {{ {_FIND} find(css)[0].focus(); find(css)[0].select(); }}", css)
        self.type(text)

    def hush(self) -> None:
        """What every page is held to: no line in the console, no breach, no cookie."""
        self.noises += self.run("() => window.breaches ?? []")
        assert self.noises == []
        assert self.run("() => document.cookie") == ""


class Chromium(Tab):
    """A tab by Playwright."""

    def __init__(self, context: BrowserContext) -> None:
        super().__init__()
        self._page: Page = context.new_page()
        self._page.on("console", lambda said: self.noises.append(f"{said.type}: {said.text}"))
        self._page.on("pageerror", lambda problem: self.noises.append(str(problem)))
        self._page.on("request", lambda each: self.requests.append((each.method, each.url)))
        self.before(_WATCH)

    def go(self, url: str) -> None:
        self._page.goto(url)

    def reload(self) -> list[str]:
        asked: list[str] = []

        def accept(dialog: Dialog) -> None:
            asked.append(dialog.type)
            dialog.accept()

        self._page.on("dialog", accept)
        self._page.reload()
        self._page.remove_listener("dialog", accept)
        return asked

    def run(self, function: str, *given: Any) -> Any:
        return self._page.evaluate(f"(given) => ({function})(...given)", list(given))

    def point(self, x: float, y: float, times: int) -> None:
        self._page.mouse.click(x, y, click_count=times)

    def type(self, text: str) -> None:
        names = {code: name for name, code in KEYS.items()}
        for each in text:
            self._page.keyboard.press(names.get(each, each))

    def resize(self, width: int, height: int) -> None:
        self._page.set_viewport_size({"width": width, "height": height})

    def share(self) -> Tab:
        return Chromium(self._page.context)

    def before(self, function: str) -> None:
        self._page.add_init_script(f"({function})()")


class FirefoxTab(Tab):
    """A tab by WebDriver BiDi."""

    def __init__(self, firefox: Firefox, person: str) -> None:
        super().__init__()
        self._firefox, self._person = firefox, person
        self._asked: list[str] = []
        made = firefox.do("browsingContext.create", type="tab", userContext=person)
        self._id: str = made["context"]
        self._listen("log.entryAdded", self._said)
        self._listen("network.beforeRequestSent", self._requested)
        self._listen("browsingContext.userPromptOpened", self._prompted)
        events = [
            "browsingContext.userPromptOpened",
            "log.entryAdded",
            "network.beforeRequestSent",
        ]
        firefox.do("session.subscribe", events=events, contexts=[self._id])
        self.before(_WATCH)
        self.resize(1280, 900)

    def _listen(self, event: str, listener: Callable[[dict[str, Any]], None]) -> None:
        self._firefox.listeners.setdefault(event, []).append(listener)

    def _said(self, entry: dict[str, Any]) -> None:
        if entry["source"].get("context") == self._id:
            self.noises.append(f"{entry['level']}: {entry.get('text')}")

    def _prompted(self, event: dict[str, Any]) -> None:
        if event["context"] == self._id:
            self._asked.append(event["type"])

    def _requested(self, event: dict[str, Any]) -> None:
        if event["context"] == self._id:
            request = event["request"]
            self.requests.append((request["method"], request["url"]))

    def _do(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._firefox.do(method, context=self._id, **parameters)

    def go(self, url: str) -> None:
        self._do("browsingContext.navigate", url=url, wait="complete")

    def reload(self) -> list[str]:
        # Firefox says yes to this question by itself, and tells that it was asked.
        self._asked.clear()
        self._do("browsingContext.reload", wait="complete")
        return [*self._asked]

    def run(self, function: str, *given: Any) -> Any:
        # Values travel as JSON, which is what the tests give and take.
        whole = (
            f"async (given) => JSON.stringify((await ({function})(...JSON.parse(given))) ?? null)"
        )
        answer = self._firefox.do(
            "script.callFunction",
            functionDeclaration=whole,
            arguments=[{"type": "string", "value": json.dumps(given)}],
            awaitPromise=True,
            target={"context": self._id},
        )
        assert answer["type"] == "success", answer.get("exceptionDetails", {}).get("text")
        return json.loads(answer["result"]["value"])

    def point(self, x: float, y: float, times: int) -> None:
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        move = {"type": "pointerMove", "x": round(x), "y": round(y)}
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        self._do("input.performActions", actions=[{**mouse, "actions": [move, *press * times]}])

    def type(self, text: str) -> None:
        keys = [{"type": way, "value": each} for each in text for way in ("keyDown", "keyUp")]
        self._do("input.performActions", actions=[{"type": "key", "id": "keys", "actions": keys}])

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height}
        self._do("browsingContext.setViewport", viewport=size)

    def share(self) -> Tab:
        return FirefoxTab(self._firefox, self._person)

    def before(self, function: str) -> None:
        self._firefox.do(
            "script.addPreloadScript", functionDeclaration=function, contexts=[self._id]
        )


class People:
    """Somebody new with each call: nothing is shared with anybody before."""

    def __init__(self, new: Callable[[], Tab]) -> None:
        self.new = new


@contextmanager
def by_playwright(browser: Browser) -> Iterator[People]:
    contexts: list[BrowserContext] = []

    def new() -> Tab:
        contexts.append(
            browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        )
        return Chromium(contexts[-1])

    yield People(new)
    for context in contexts:
        context.close()


@contextmanager
def by_bidi(program: Path, folder: Path) -> Iterator[People]:
    firefox = Firefox(program, folder / "profile")

    def new() -> Tab:
        person: str = firefox.do("browser.createUserContext")["userContext"]
        return FirefoxTab(firefox, person)

    try:
        yield People(new)
    finally:
        firefox.close()
