"""`agentd mcp`: a gateway before any MCP server; tool calls become steps, all bytes pass as is."""
