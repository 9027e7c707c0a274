# REST: an HTTP API in front of the function `api`. Everything needs a signature or a token;
# preflight requests are answered by the gateway, and only where origins are named.

locals {
  rest_count = var.rest.enabled ? 1 : 0
}

resource "aws_apigatewayv2_api" "rest" {
  count = local.rest_count

  name          = local.prefix
  description   = "Tidemark ${var.deployment}: transactions over REST"
  protocol_type = "HTTP"

  dynamic "cors_configuration" {
    for_each = length(var.rest.cors_origins) == 0 ? [] : [var.rest.cors_origins]

    content {
      allow_origins = cors_configuration.value
      allow_methods = ["DELETE", "GET", "POST"]
      allow_headers = [
        "authorization",
        "content-type",
        "idempotency-key",
        "x-amz-date",
        "x-amz-security-token",
        "x-request-id",
      ]
      expose_headers = ["idempotency-replayed", "location", "retry-after", "x-request-id"]
      max_age        = 600
    }
  }

  tags = local.tags
}

resource "aws_apigatewayv2_integration" "rest" {
  count = local.rest_count

  api_id                 = aws_apigatewayv2_api.rest[0].id
  integration_type       = "AWS_PROXY"
  integration_method     = "POST"
  integration_uri        = aws_lambda_function.this["api"].invoke_arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_apigatewayv2_authorizer" "jwt" {
  count = var.rest.enabled && var.rest.authorization == "JWT" ? 1 : 0

  api_id           = aws_apigatewayv2_api.rest[0].id
  name             = "jwt"
  authorizer_type  = "JWT"
  identity_sources = ["$request.header.Authorization"]

  jwt_configuration {
    issuer   = var.rest.jwt.issuer
    audience = var.rest.jwt.audience
  }
}

# One route for all: the service knows its paths, and answers the others with a problem of its own.
resource "aws_apigatewayv2_route" "rest" {
  count = local.rest_count

  api_id             = aws_apigatewayv2_api.rest[0].id
  route_key          = "$default"
  target             = "integrations/${aws_apigatewayv2_integration.rest[0].id}"
  authorization_type = var.rest.authorization
  # Of several, one in the token is enough.
  authorization_scopes = try(length(var.rest.jwt.scopes), 0) > 0 ? var.rest.jwt.scopes : null
  authorizer_id        = one(aws_apigatewayv2_authorizer.jwt[*].id)
}

resource "aws_cloudwatch_log_group" "access" {
  count = local.rest_count

  name              = "/aws/http-api/${local.prefix}"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.kms_key_arn
  tags              = local.tags
}

resource "aws_apigatewayv2_stage" "rest" {
  count = local.rest_count

  api_id      = aws_apigatewayv2_api.rest[0].id
  name        = "$default"
  auto_deploy = true

  default_route_settings {
    throttling_rate_limit  = var.rest.throttling.rate
    throttling_burst_limit = var.rest.throttling.burst
  }

  access_log_settings {
    destination_arn = aws_cloudwatch_log_group.access[0].arn
    format = jsonencode({
      requestId        = "$context.requestId"
      time             = "$context.requestTime"
      sourceIp         = "$context.identity.sourceIp"
      caller           = "$context.identity.caller"
      subject          = "$context.authorizer.claims.sub"
      method           = "$context.httpMethod"
      path             = "$context.path"
      status           = "$context.status"
      responseLength   = "$context.responseLength"
      latencyMs        = "$context.responseLatency"
      authorizerError  = "$context.authorizer.error"
      integrationError = "$context.integrationErrorMessage"
    })
  }

  tags = local.tags
}

resource "aws_lambda_permission" "rest" {
  count = local.rest_count

  statement_id  = "http-api"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this["api"].function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.rest[0].execution_arn}/*/$default"
}

# For the roles of those who call REST with signed requests.
resource "aws_iam_policy" "rest" {
  count = var.rest.enabled && var.rest.authorization == "AWS_IAM" ? 1 : 0

  name        = "${local.global_prefix}-rest"
  description = "Tidemark ${var.deployment}: transactions over REST"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "CallRest"
      Effect   = "Allow"
      Action   = "execute-api:Invoke"
      Resource = "${aws_apigatewayv2_api.rest[0].execution_arn}/*"
    }]
  })
  tags = local.tags
}
