#!/bin/sh
echo "running"
