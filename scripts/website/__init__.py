"""The documentation site: pages of docs and generated ones, staged in build/website, built into site by Zensical."""
