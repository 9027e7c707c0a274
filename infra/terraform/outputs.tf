output "deployment" {
  description = "The deployment's name, for SDK clients."
  value       = var.deployment
}

output "sdk" {
  description = "What createClient takes, as it stands."
  value = {
    deployment = var.deployment
    region     = local.region
  }
}

output "rest" {
  description = "Where REST answers and how callers prove themselves; null without REST."
  value = !var.rest.enabled ? null : {
    endpoint      = aws_apigatewayv2_api.rest[0].api_endpoint
    api_id        = aws_apigatewayv2_api.rest[0].id
    authorization = var.rest.authorization
    policy_arn    = one(aws_iam_policy.rest[*].arn)
  }
}

output "policies" {
  description = <<-EOT
    Managed policies for the roles of applications that use the SDK. `express` comes beside
    `read_write`, for clients that are trusted to append to the commit log themselves, and
    `housekeeping` beside both, for clients that keep house where no function does. `feeds` comes
    beside either of the first two, for consumers of changes whose position the deployment keeps.
  EOT
  value = {
    read_only_arn    = aws_iam_policy.sdk["read-only"].arn
    read_write_arn   = aws_iam_policy.sdk["read-write"].arn
    express_arn      = aws_iam_policy.sdk["express"].arn
    housekeeping_arn = aws_iam_policy.sdk["housekeeping"].arn
    feeds_arn        = aws_iam_policy.sdk["feeds"].arn
  }
}

output "base_runner" {
  description = <<-EOT
    The runner of BASE transactions, and its role: give it the rights on what its handlers call
    beside Tidemark. Null without one.
  EOT
  value = var.base_runner == null ? null : {
    name      = aws_lambda_function.base_runner["base-runner"].function_name
    arn       = aws_lambda_function.base_runner["base-runner"].arn
    role_name = aws_iam_role.base_runner["base-runner"].name
  }
}

output "stream" {
  description = "The commit stream; null for a deployment of tables alone."
  value = !var.stream.enabled ? null : {
    name = aws_kinesis_stream.commits[0].name
    arn  = aws_kinesis_stream.commits[0].arn
  }
}

output "system_tables" {
  description = <<-EOT
    Names and ARNs of the deployment's own tables: log, control and versions, and base where a table
    takes BASE transactions.
  EOT
  value = {
    for name, table in aws_dynamodb_table.system :
    name => { name = table.name, arn = table.arn }
  }
}

output "user_tables" {
  description = <<-EOT
    The names of the tables that transactions may touch, sorted; they are registered when this is
    known.
  EOT
  value       = sort(keys(var.tables))
  depends_on  = [aws_lambda_invocation.provision]
}

output "mixed_tables" {
  description = <<-EOT
    Those of user_tables that native operations of DynamoDB may write beside transactions, sorted.
  EOT
  value = sort([
    for name, table in var.tables : name if table.access == "mixed"
  ])
  depends_on = [aws_lambda_invocation.provision]
}

output "functions" {
  description = <<-EOT
    Names and ARNs of the functions, by role: oracle, replay and reaper with a stream, housekeeping
    without, splitter with auto_split, api with REST, auditor where a table is audited, and
    provision.
  EOT
  value = {
    for name, function in aws_lambda_function.this :
    name => { name = function.function_name, arn = function.arn }
  }
}

output "alarm_names" {
  description = "The alarms, sorted; empty without alarms."
  value = sort(concat(
    [for alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_name],
    aws_cloudwatch_metric_alarm.conflict_rate[*].alarm_name,
  ))
}

output "dashboard_name" {
  description = "The CloudWatch dashboard."
  value       = aws_cloudwatch_dashboard.this.dashboard_name
}
