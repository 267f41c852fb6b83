{{- define "faircascade.selector" -}}
app.kubernetes.io/name: faircascade
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "faircascade.labels" -}}
{{ include "faircascade.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
