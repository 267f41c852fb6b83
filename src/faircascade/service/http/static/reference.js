// The API reference, drawn by Scalar from the service's own description. Nothing is asked of any
// other host: the page's Content-Security-Policy forbids it, and these options do not try.
Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  documentDownloadType: "json",
});
