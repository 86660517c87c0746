// Whether a dial may stand at a value. The rules (DIAL_SCHEMA) are those of ironlaw.widget.dial_schema, sent as data; a test feeds both sides
// the same cases.

function conforms(rule, dial, value) {
  const limit = (name) => (typeof rule[name] === "string" ? dial[rule[name]] : rule[name]);
  const record = typeof value === "object" && value !== null && !Array.isArray(value);
  switch (rule.is) {
    case "boolean": return typeof value === "boolean";
    case "text": return typeof value === "string" && [...value].length <= limit("most");
    case "option": return dial.options.some((option) => option.value === value && !option.disabled);
    case "number": return Number.isFinite(value) && value >= limit("least") && value <= limit("most") && (!limit("whole") || Number.isInteger(value));
    case "list": return Array.isArray(value) && value.length >= limit("least") && value.length <= limit("most") && value.every((item) => conforms(rule.of, dial, item));
    case "record": return record && Object.entries(rule.fields).every(([key, inner]) => conforms(inner, dial, value[key]));
    case "mapping": return record && Object.keys(value).every((key) => limit("keys").includes(key));
    default: throw new Error(`a rule of a kind that nobody interprets: ${rule.is}`);
  }
}

const allowed = (dial, value) => conforms(DIAL_SCHEMA[dial.type], dial, value);
