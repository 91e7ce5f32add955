"""Ranks on axes: which ranks form a group, what runs on it, which link it crosses."""

from helpers.view.mesh.widget import MeshWidget, explore_mesh, mesh_html, mesh_sentence, mesh_spec

__all__ = ["MeshWidget", "explore_mesh", "mesh_html", "mesh_sentence", "mesh_spec"]
