"""``warm``: compile what predictions of a model need."""

from __future__ import annotations

from .common import CommandError, ComponentOption, ModelArgument, load_pipeline, print_message

EXAMPLES = """
spacy-graft warm training/model-best
"""

#: Enough features that a text of them has some of every kind.
FEATURES_IN_TEXT = 200


def warm_command(model: ModelArgument, component: ComponentOption = None) -> None:
    """Compile the kernels that predictions of a model need.

    They are kept on disk, with those of its explanations. Run it as a step of building a container image, with
    NUMBA_CACHE_DIR set to a folder of the image. It is an error if there is no folder to keep the compiled kernels in.
    """
    nlp, graft = load_pipeline(model, component)
    features = [feature.text for feature in graft.features()[:FEATURES_IN_TEXT]]
    graft.explain(nlp(" ".join(["Some words.", *features])))
    folder = kernel_folder()
    if folder is None:
        raise CommandError(
            "Compiled kernels cannot be kept: there is no folder that this user can write and others cannot. Set "
            "NUMBA_CACHE_DIR to such a folder."
        )
    print_message(f"Compiled kernels are in {folder}.")


def kernel_folder() -> str | None:
    """The folder that kernels of matching are written to; those of other packages are beside it."""
    from ..model import kernels

    if not hasattr(kernels.add_scores, "stats"):
        raise CommandError("Nothing is compiled, since NUMBA_DISABLE_JIT is set. Unset it.")
    return kernels.add_scores.stats.cache_path
