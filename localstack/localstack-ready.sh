#!/usr/bin/env bash
# LocalStack's init step: starts the services that a deployment begins with, so that the first
# `apply` waits for none.
set -eu
awslocal dynamodb list-tables >/dev/null
awslocal kinesis list-streams >/dev/null
awslocal lambda list-functions >/dev/null
awslocal iam list-roles >/dev/null
echo "ready: apply infra/terraform/examples/localstack"
