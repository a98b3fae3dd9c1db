"""Train models on your own documents, and prove whether they are better.

`make_data` makes rows of a collection, `make_plan` says what a recipe needs, `start` trains,
`prove` compares; `ragkit_tune.adopt` takes a proven model into use.
"""

from typing import TYPE_CHECKING

from ragkit._lazy import lazy_exports

if TYPE_CHECKING:
    from ragkit_tune.data.data_set import DataSet as DataSet
    from ragkit_tune.data.data_set import read_data_set as read_data_set
    from ragkit_tune.data.make import make_data as make_data
    from ragkit_tune.plan.make import Plan as Plan
    from ragkit_tune.plan.make import make_plan as make_plan
    from ragkit_tune.proof.candidate import find_candidate as find_candidate
    from ragkit_tune.proof.measure import Proof as Proof
    from ragkit_tune.proof.prove import prove as prove
    from ragkit_tune.proof.verdict import Verdict as Verdict
    from ragkit_tune.recipe import Recipe as Recipe
    from ragkit_tune.recipe import make_recipe as make_recipe
    from ragkit_tune.recipe import read_recipe as read_recipe
    from ragkit_tune.run.folder import Run as Run
    from ragkit_tune.run.start import resume as resume
    from ragkit_tune.run.start import start as start
else:
    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "ragkit_tune.data.data_set": "DataSet read_data_set",
            "ragkit_tune.data.make": "make_data",
            "ragkit_tune.plan.make": "Plan make_plan",
            "ragkit_tune.proof.candidate": "find_candidate",
            "ragkit_tune.proof.measure": "Proof",
            "ragkit_tune.proof.prove": "prove",
            "ragkit_tune.proof.verdict": "Verdict",
            "ragkit_tune.recipe": "Recipe make_recipe read_recipe",
            "ragkit_tune.run.folder": "Run",
            "ragkit_tune.run.start": "resume start",
        },
    )
