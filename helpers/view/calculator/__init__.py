"""What a model needs, term by term."""

from helpers.view.calculator.forms import forms
from helpers.view.calculator.widget import Calculator, calculator, calculator_html, calculator_sentence, calculator_spec

__all__ = [
    "Calculator",
    "calculator",
    "calculator_html",
    "calculator_sentence",
    "calculator_spec",
    "forms",
]
