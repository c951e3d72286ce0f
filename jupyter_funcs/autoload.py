"""
The extension under the name that `jupyter funcs enable` writes into IPython's configuration.

It has another name than the package, because ``%load_ext jupyter_funcs`` prints a line about ``%reload_ext`` if that
extension is loaded already, and notebooks that also run elsewhere contain that line.
"""

from jupyter_funcs import load_ipython_extension, unload_ipython_extension

__all__ = ["load_ipython_extension", "unload_ipython_extension"]
