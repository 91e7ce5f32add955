"""What NCCL chose: every candidate over the size, two versions beside each other."""

from helpers.view.choice.widget import ChoiceWidget, choice_html, choice_sentence, choice_spec, explore_choice

__all__ = ["ChoiceWidget", "choice_html", "choice_sentence", "choice_spec", "explore_choice"]
