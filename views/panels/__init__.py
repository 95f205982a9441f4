"""What hangs off a topic: pictures in the place of the ladder's bars, scenes that move, and sections below its table.

Each module makes one of them; the lists here are their order on the page. `plot` draws them, `block` has the
pictures of the page Inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from views.panels import (
    arithmetic,
    claims,
    complexity,
    floats,
    law,
    motion,
    occupancy,
    paper,
    reasons,
    roofline,
    trapezoids,
)
from views.panels.entries import Picture, Scene, Section
from views.session.page import KEPT, Page

PICTURES: tuple[Picture, ...] = (
    law.PICTURE,
    roofline.PICTURE,
    trapezoids.TRAPEZOIDS,
    trapezoids.ERRORS,
    complexity.PICTURE,
    floats.ANSWERS,
    floats.PICTURE,
    floats.REPEATS,
    paper.PICTURE,
)
SCENES: tuple[Scene, ...] = (motion.SCENE,)
SECTIONS: tuple[Section, ...] = (
    arithmetic.SECTION,
    paper.SECTION,
    claims.SECTION,
    complexity.SECTION,
    floats.SECTION,
    occupancy.SECTION,
    reasons.SECTION,
)


@lru_cache(maxsize=KEPT)
def pictures_of(page: Page) -> Mapping[str, Picture]:
    """The pictures that are offered on this page, by their name in the address."""
    return {picture.name: picture for picture in PICTURES if picture.offered(page)}


@lru_cache(maxsize=KEPT)
def scenes_of(page: Page) -> Mapping[str, Scene]:
    """The scenes that are offered on this page, by their name in the address."""
    return {scene.name: scene for scene in SCENES if scene.offered(page)}


@lru_cache(maxsize=KEPT)
def sections_of(page: Page) -> Mapping[str, Section]:
    """The sections that are offered on this page, by their name in the address."""
    return {section.name: section for section in SECTIONS if section.offered(page)}
