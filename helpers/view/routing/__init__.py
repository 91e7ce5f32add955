"""Where tokens go that are routed to experts: slots, drops, and the all_to_all in one picture."""

from helpers.view.routing.asked import RoutingSpec, routing_spec
from helpers.view.routing.widget import RoutingWidget, explore_routing, routing_html, routing_sentence

__all__ = [
    "RoutingSpec",
    "RoutingWidget",
    "explore_routing",
    "routing_html",
    "routing_sentence",
    "routing_spec",
]
