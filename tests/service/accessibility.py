"""What a page owes to people who do not see it, or not well: names, landmarks, contrast."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

_BASICS = """() => {
  const wrong = [];
  const seen = (element) => element.checkVisibility() && !element.closest("[aria-hidden=true]");
  const named = (element) => [
    element.getAttribute("aria-label"), element.textContent.trim(),
    ...[...(element.labels ?? [])].map((label) => label.textContent.trim()),
  ].some(Boolean);
  for (const control of document.querySelectorAll("a, button, input, summary, [role=slider]")) {
    if (seen(control) && !named(control)) wrong.push(`no name: ${control.outerHTML}`);
  }
  for (const picture of document.querySelectorAll("svg[role=img]")) {
    if (seen(picture) && !picture.getAttribute("aria-label")) wrong.push("a chart without words");
  }
  for (const image of document.images) if (!image.hasAttribute("alt")) wrong.push("no alt");
  for (const one of ["header", "main", "h1", "nav[aria-label]"]) {
    const found = document.querySelectorAll(one).length;
    if (found !== 1) wrong.push(`${found} of ${one}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
    const names = ["aria-labelledby", "aria-describedby"].map((name) => element.getAttribute(name));
    for (const id of names.filter(Boolean).join(" ").split(" ")) {
      if (!document.getElementById(id)) wrong.push(`nothing has the id ${id}`);
    }
  }
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  return wrong;
}"""

_CONTRAST = """() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = (colour) => parts(colour).slice(0, 3)
    .map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0.99) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const wrong = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const element = text.parentElement;
    if (!text.data.trim() || !element.checkVisibility() || element.closest(".hidden")) continue;
    const style = getComputedStyle(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const [low, high] = [light(colour), light(behind(element))].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) wrong.push(`${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
  }
  return wrong;
}"""


def shortcomings(page: Page) -> list[str]:
    """Return what is wrong with a page as it stands; text needs a contrast of 4.5 (WCAG AA)."""
    return [*page.evaluate(_BASICS), *page.evaluate(_CONTRAST)]
