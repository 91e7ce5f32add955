"""Every published time of nccl-tests, to explore: up to three runs at once, NCCL's model and a plain line beside them."""

from helpers.view.published.widget import PublishedWidget, explore_published, published_html, published_spec

__all__ = ["PublishedWidget", "explore_published", "published_html", "published_spec"]
