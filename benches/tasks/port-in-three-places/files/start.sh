#!/bin/sh
exec ./server --port 8080 --log log.txt
