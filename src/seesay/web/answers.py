"""What the HTTP API answers, as OpenAPI describes it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from seesay.library.indexing.places import exists
from seesay.library.ranking.calibration import word_for
from seesay.library.ranking.likeness import Box
from seesay.library.ranking.search import Result
from seesay.library.status import Status
from seesay.library.stores.address import is_address
from seesay.library.tag_names import shown_names
from seesay.library.types import Failure, Photo, Tags
from seesay.system.version import VERSION
from seesay.verbs.photos import WordEvidence
from seesay.web.indexing import Progress
from seesay.web.photos import shown, version_of


class PhotoAnswer(BaseModel):
    """A photo of the library."""

    id: int
    name: str = Field(description="Of the file.")
    path: str
    date: str = Field(description="When it was taken, else when the file was last changed; ISO 8601.")
    taken: str | None = Field(description="The date in the file itself, if any.")
    camera: str | None
    width: int
    height: int
    thumbnail: str = Field(description="The address of its thumbnail.")
    picture: str = Field(description="The address of a large image of it.")

    @classmethod
    def of(cls, photo: Photo) -> "PhotoAnswer":
        return cls(**_photo(photo))


class PhotoDetails(PhotoAnswer):
    """A photo with what an image classifier calls it."""

    size: int = Field(description="Bytes of the file.")
    tags: list[str]

    @classmethod
    def with_tags(cls, photo: Photo, tags: Tags) -> "PhotoDetails":
        return cls(**_photo(photo), size=photo.size, tags=list(shown_names(tags)))


class ResultAnswer(BaseModel):
    """A photo that was found."""

    photo: PhotoAnswer
    score: float = Field(description="A probability where `word` is given, else a similarity.")
    word: str | None = Field(description="The probability in a word: likely, maybe or unlikely.")
    copies: list[PhotoAnswer] = Field(description="The same photo under other paths.")
    tags: list[str]
    box: Box | None = Field(description="Where in the photo it is, in a search for regions.")

    @classmethod
    def of(cls, result: Result) -> "ResultAnswer":
        return cls(
            photo=PhotoAnswer.of(result.photo),
            score=round(result.score, 4),
            word=result.word,
            copies=[PhotoAnswer.of(copy) for copy in result.copies],
            tags=list(result.tags),
            box=result.box,
        )


class DatesAnswer(BaseModel):
    """When the photos of a query are from."""

    said: str
    after: str
    before: str
    months: list[int]


class UnderstoodAnswer(BaseModel):
    """What was made of the text of a query, beside what photos are to show."""

    without: list[str] = Field(description="What photos are not to show.")
    dates: DatesAnswer | None
    replaced: dict[str, str] = Field(description="Unknown words, and the known ones that they were read as.")
    unknown: list[str] = Field(description="Words of the query that nothing is known of.")
    language: str | None = Field(description="Another language or script than that of English, if it seems to be one.")
    notes: list[str] = Field(description="The same in sentences.")


class SearchAnswer(BaseModel):
    """What was found."""

    query: str
    results: list[ResultAnswer]
    next: int | None = Field(description="The offset of the results that follow; null where there are no more.")
    unknown_words: list[str] = Field(description="Words of the query that nothing is known of.")
    understood: UnderstoodAnswer


class PhotosAnswer(BaseModel):
    """Photos, latest first."""

    photos: list[PhotoAnswer]
    next: int | None


class CaptionAnswer(BaseModel):
    """A sentence about a photo."""

    text: str
    log_prob: float = Field(description="Natural logarithm of its probability.")
    unsure: bool = Field(description="Whether more of its words are expected to be wrong than right.")


class CaptionsAnswer(BaseModel):
    """Sentences about a photo, the best first."""

    model: str | None = Field(description="The weights that wrote them; null where none are installed.")
    captions: list[CaptionAnswer]


class WordAnswer(BaseModel):
    """A word of a sentence, and the evidence for it in a photo."""

    text: str
    content: bool = Field(description="Whether it names something that can be seen; the rest is empty otherwise.")
    known: bool = Field(description="Whether the model has learned it.")
    probability: float | None = Field(description="Share of people who would say that the photo shows it.")
    said: str | None = Field(description="That in a word: likely, maybe or unlikely.")
    heat: list[list[int]] = Field(description="Rows of a map over the photo, 0 cold to 100 hot.")
    box: Box | None = Field(
        description="The region that it refers to: left, top, right, bottom as fractions of the photo."
    )
    place: str | None = Field(description="Where that is, in words.")

    @classmethod
    def of(cls, word: WordEvidence) -> "WordAnswer":
        return cls(
            text=word.text,
            content=word.content,
            known=word.known,
            probability=None if word.probability is None else round(word.probability, 4),
            said=None if word.probability is None else word_for(word.probability),
            heat=[] if word.heat is None else (100 * word.heat).round().astype(int).tolist(),
            box=word.box,
            place=word.place,
        )


class JudgedAnswer(BaseModel):
    """How well a photo fits a sentence."""

    score: float | None = Field(description="As a search gives it; null where the sentence has no known word.")
    word: str | None = Field(description="The probability in a word: likely, maybe or unlikely.")
    notes: list[str] = Field(description="What one should know of how the sentence was understood.")


class ExplainAnswer(JudgedAnswer):
    """Why a photo fits a sentence, or does not."""

    query: str
    words: list[WordAnswer]


class IndexingAnswer(BaseModel):
    """How far indexing is."""

    state: Literal["idle", "looking", "indexing"]
    folder: str | None
    done: int
    total: int
    runs: int = Field(description="How many times it has looked through the folders since the server started.")
    added: int = Field(description="Photos that the last time has added.")
    problems: list[str]

    @classmethod
    def of(cls, at: Progress) -> "IndexingAnswer":
        return cls(
            state=at.state,
            folder=shown(at.folder) if at.folder else None,
            done=at.n_done,
            total=at.n_total,
            runs=at.n_runs,
            added=at.n_added,
            problems=list(at.problems),
        )


class FolderAnswer(BaseModel):
    """An indexed folder."""

    path: str
    photos: int
    failures: int
    exists: bool


class StatusAnswer(BaseModel):
    """What the library holds, and what the server can do."""

    version: str
    library: str
    model: str | None
    agrees: bool = Field(description="Whether the library was made with the weights that are installed.")
    photos: int
    failures: int
    folders: list[FolderAnswer]
    indexing: IndexingAnswer

    @classmethod
    def of(cls, found: Status, at: Progress) -> "StatusAnswer":
        return cls(
            version=VERSION,
            library=found.name if is_address(found.name) else shown(Path(found.name)),
            model=found.fingerprint.model if found.fingerprint else None,
            agrees=found.agrees,
            photos=found.counts.photos,
            failures=found.counts.failures,
            folders=[
                FolderAnswer(
                    path=shown(folder.path), photos=counts.photos, failures=counts.failures, exists=exists(folder.path)
                )
                for folder, counts in found.folders
            ],
            indexing=IndexingAnswer.of(at),
        )


class FailureAnswer(BaseModel):
    """A file that could not be used."""

    path: str
    reason: str
    hint: str | None

    @classmethod
    def of(cls, failure: Failure) -> "FailureAnswer":
        return cls(path=shown(failure.path), reason=failure.reason, hint=failure.hint)


class ErrorAnswer(BaseModel):
    """What went wrong."""

    what: str
    allowed: str | None = None
    hint: str | None = None


def _photo(photo: Photo) -> dict[str, Any]:
    return {
        "id": photo.id,
        "name": shown(Path(photo.path.name)),
        "path": shown(photo.path),
        "date": photo.date,
        "taken": photo.taken,
        "camera": photo.camera,
        "width": photo.width,
        "height": photo.height,
        "thumbnail": f"/api/photos/{photo.id}/thumbnail?v={version_of(photo)}",
        "picture": f"/api/photos/{photo.id}/picture?v={version_of(photo)}",
    }
