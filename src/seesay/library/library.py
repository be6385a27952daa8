"""A person's library of photos, with everything that one does with it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from seesay.catalogue.weights import NoWeightsError
from seesay.errors import SeesayError
from seesay.library.encoder import Encoder, WeightsEncoder
from seesay.library.indexing import places
from seesay.library.ranking.cascade import RegionStage
from seesay.library.ranking.likeness import Crop, Source, own_contents, vector_of
from seesay.library.ranking.query import read_query, read_sentence
from seesay.library.ranking.search import Results, find_photos, find_regions
from seesay.library.stages import Cascade, Stage
from seesay.library.status import Status
from seesay.library.stores.filters import narrow
from seesay.library.stores.store import Store
from seesay.library.types import Failure, Filter, Folder, Photo
from seesay.library.weights import precision_of, to_type

if TYPE_CHECKING:
    from seesay.library.indexing.index import Indexed
    from seesay.system.progress import Progress

DEFAULT_MODEL = "eye"


class Library:
    """Photos of any number of folders, found by what they show.

    Args:
        location: The library's folder, or the address of a server (`postgresql://…`); by default the person's own
            (`seesay.library.indexing.places`).
        model: Weights by name or folder; by default those that the library was made with.
        precision: Of the network (`seesay.library.weights.PRECISIONS`); by default that of the library.
        stages: Later stages that rerank the best (`seesay.library.ranking.cascade`); by default those that are
            installed for the model.

    Example:
        >>> library = Library()  # doctest: +SKIP
        >>> library.index("~/Pictures").n_added  # doctest: +SKIP
        1250
        >>> for result in library.search("two dogs play in the snow", top=3):  # doctest: +SKIP
        ...     print(f"{result.score:.2f} {result.path}")
        0.71 /home/ada/Pictures/2019/IMG_2044.jpg
    """

    def __init__(
        self,
        location: Path | str | None = None,
        *,
        model: str | Path | None = None,
        precision: str | None = None,
        store: Store | None = None,
        encoder: Encoder | None = None,
        stages: Sequence[Stage] | Literal["installed"] = "installed",
    ) -> None:
        if (model or precision) and not encoder:
            WeightsEncoder(model or DEFAULT_MODEL, precision).require_first()  # else there would be a useless library
        self.store = store or places.open_store(places.library_place(location))
        made_with = self.store.fingerprint()
        name = model or (made_with.model if made_with else DEFAULT_MODEL)
        held = precision_of(made_with) if made_with and made_with.model == str(name) else None
        self.encoder: Encoder = encoder or self._encoder(name, precision or held)
        self._stages = stages

    def _encoder(self, model: str | Path, precision: str | None) -> Encoder:
        try:
            return WeightsEncoder(model, precision)
        except NoWeightsError as error:
            what = f"the library {self.store.name} was made with {model}, which is not here any more"
            hint = f"seesay models add FOLDER --name {model}, or seesay library use {DEFAULT_MODEL}"
            self.store.close()
            raise SeesayError(what, hint=hint) from error

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back what it holds open."""
        self.store.close()

    @cached_property
    def cascade(self) -> Cascade:
        """The later stages, which rerank the photos that the first one found best."""
        own = self.encoder.fingerprint
        return Cascade(own.model, self._stages, precision_of(own))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The later stages in their order, whether or not the library holds their views."""
        return self.cascade.stages

    def _start(self, *, only_if_empty: bool = False) -> None:
        stages = {stage.stage: stage.fingerprint for stage in self.stages}
        self.store.start(self.encoder.fingerprint, stages, only_if_empty=only_if_empty)

    def folders(self) -> list[Folder]:
        """The indexed folders."""
        return self.store.folders()

    def index(
        self,
        folder: Path | str,
        *,
        exclude: Sequence[str] | None = None,
        retry: bool = False,
        workers: int = 0,
        ray: str | None = None,
        on_progress: "Progress | None" = None,
    ) -> "Indexed":
        """Bring the library up to date with a folder, which it remembers.

        Args:
            folder: Photos below it are indexed; a folder inside one that is indexed is brought up to date alone.
            exclude: Patterns of what is left out (`seesay.library.indexing.ignoring`); by default those of last time.
            retry: Try again what could not be used, though it has not changed.
            workers: Threads; 0 takes one per core.
            ray: The Ray cluster that encodes (`seesay.system.cluster.join`), in place of threads.
            on_progress: Told how many of the files that had to be looked at are done, and how many there are.

        Raises:
            SeesayError: The folder does not exist, somebody else is indexing, or the library was made with other
                weights.
        """
        from seesay.library.indexing.index import index_folder

        path = places.resolve_folder(folder)
        with self.store.writing(together=True):
            self._agree(start=True)
            root = places.remember(self.store, path, exclude)
            below = path if path != root.path else None
            return index_folder(
                self.store, root, self.encoder, stages=self.cascade.held(self.store), below=below, retry=retry,
                workers=workers, ray=ray, on_progress=on_progress,
            )  # fmt: skip

    def _agree(self, *, start: bool = False) -> None:
        """Make sure that the library's vectors are those of the encoder."""
        held, own = self.store.fingerprint(), self.encoder.fingerprint
        if held is None and start:
            self._start(only_if_empty=True)
            held = self.store.fingerprint()  # of another indexer perhaps, that has begun at the same time
        if held is not None and held != own:
            raise SeesayError(
                f"the library {self.store.name} was made with {held.model} ({held.weights}, {held.features}), "
                f"not with {own.model} ({own.weights}, {own.features})",
                hint=f"seesay library rebuild {to_type(held, own)}",
            )

    def search(
        self,
        query: str = "",
        *,
        folders: Sequence[Path | str] = (),
        like: Sequence[Source | Crop] = (),
        plus: Sequence[str] = (),
        minus: Sequence[str] = (),
        where: Filter | None = None,
        top: int = 20,
        min_score: float | None = None,
        sort: str = "score",
        exact: bool = False,
    ) -> Results:
        """The photos that fit a query best; what the disk holds by now is not looked at.

        Args:
            query: A sentence; may be empty where `like` or `plus` say what is wanted.
            folders: Only photos below these.
            like: Photos that the results are to be like, or crops of them: files, or photos of the library by id.
                Such a photo is not found again itself.
            plus: Further sentences that a photo is to fit.
            minus: Sentences that it is not to fit.
            where: Which photos count, by date, camera and place.
            top: How many, copies not counted.
            min_score: Leave out what scores less.
            sort: `score`, or `date`, those same photos latest first.
            exact: Take the query as it stands; by default "without a dog" and "from 2019" in it are understood
                (`seesay.text.typed.queries`), and an unknown word is read as the known one that it is spelled like
                (`seesay.text.typed.known_words`).
        """
        self._agree()
        terms = read_query(self.encoder, query, plus, minus, exact=exact)
        examples = [vector_of(self.store, self.encoder, photo) for photo in like]
        own = [own_contents(self.store, *pair) for pair in zip(like, examples, strict=True)]
        return find_photos(
            self.store, replace(terms, like=tuple(examples)), self.encoder.calibration,
            narrow(places.within(where, folders), terms.typed.dates), stages=self.cascade.held(self.store),
            without=[content for contents in own for content in contents], top=top, min_score=min_score, sort=sort,
        )  # fmt: skip

    def search_regions(
        self,
        phrase: str,
        *,
        folders: Sequence[Path | str] = (),
        where: Filter | None = None,
        top: int = 20,
        min_score: float | None = None,
        sort: str = "score",
        exact: bool = False,
    ) -> Results:
        """The photos that show what a phrase says somewhere, be it small, each with the box of where that is.

        Raises:
            SeesayError: The library keeps no regions.
        """
        self._agree()
        stage = next((stage for stage in self.cascade.held(self.store) if isinstance(stage, RegionStage)), None)
        if stage is None:
            raise SeesayError(
                f"the library {self.store.name} keeps photos as a whole and no regions of them",
                hint="seesay library rebuild" if self.stages else f"seesay library use {DEFAULT_MODEL}",
            )
        if not phrase.strip():
            raise SeesayError("the query is empty", allowed="a few words, such as 'red bus'")
        sentence = read_sentence(self.encoder, phrase, exact=exact)
        below = places.within(where, folders)
        return find_regions(self.store, sentence, stage, below, top=top, min_score=min_score, sort=sort)

    def latest(self, n: int = 20, *, skip: int = 0, where: Filter | None = None) -> list[Photo]:
        """The photos of the latest dates, without so many of the very latest."""
        return self.store.latest(n, where or Filter(), skip)

    def photo(self, photo_id: int) -> Photo | None:
        """A photo by its id."""
        return self.store.photo(photo_id)

    def thumbnail(self, photo_id: int) -> bytes | None:
        """A photo's small JPEG, without metadata."""
        return self.store.thumbnail(photo_id)

    def failures(self, folders: Sequence[Path | str] = ()) -> list[Failure]:
        """Files that could not be used, with the reasons."""
        return self.store.failures([places.absolute(folder) for folder in folders])

    def status(self) -> Status:
        """What the library holds."""
        return Status.of(self.store, self.encoder.fingerprint, self.cascade)

    def forget(self, folder: Path | str) -> int:
        """Remove everything below a folder from the library, whether or not it exists; the photos themselves stay.

        A folder inside one that is indexed is left out of it from here on.

        Returns:
            How many photos and failures were removed.

        Raises:
            SeesayError: The library knows nothing of it.
        """
        path = places.absolute(folder)
        with self.store.writing():
            folders = self.store.folders()
            files = self.store.files(path)
            kept = [places.without(known, path) for known in folders if not known.path.is_relative_to(path)]
            if not files and len(kept) == len(folders):
                raise SeesayError(
                    f"the library knows nothing of {path}", allowed=[str(known.path) for known in folders] or None
                )
            self.store.set_folders(kept)
            self.store.forget(files)
            self.store.drop_unused()
        return len(files)

    def rebuild(
        self, folders: Sequence[Path | str] = (), *, workers: int = 0, on_progress: "Progress | None" = None
    ) -> "dict[Path, Indexed]":
        """Encode every photo again, with this library's model; interrupted, `index` goes on where it was.

        Args:
            folders: To be indexed beside those that the library knows.

        Returns:
            What was done for each folder; one that is not there at the moment is left out.
        """
        from seesay.library.indexing.index import index_folder

        paths = [places.resolve_folder(folder) for folder in folders]
        with self.store.writing():
            self._start()
            stages = self.cascade.held(self.store)
            for path in paths:
                places.remember(self.store, path)
            return {
                folder.path: index_folder(
                    self.store, folder, self.encoder, stages=stages, workers=workers, on_progress=on_progress
                )
                for folder in self.store.folders()
                if places.exists(folder.path)
            }
