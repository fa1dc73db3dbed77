"""Both layers in the process of a Python program: devnet, providers of web3.py, bridge."""
