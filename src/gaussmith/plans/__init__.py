"""Plans: which noise will be added, how large the errors will be, and how close to the limit that is.

    Plan     what was asked, as draws and questions; one class, whatever was asked
    Draw     one noise: a block, its groups, and its share of the guarantee
    Block    what one person adds, what is asked of it, and the noise that fits it

Nothing here sees data.
"""

from gaussmith.plans.block import Block
from gaussmith.plans.draw import Draw
from gaussmith.plans.plan import Plan, Slot

__all__ = ["Block", "Draw", "Plan", "Slot"]
