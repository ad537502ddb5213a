"""Requests that the controller process answers, one file per API."""
