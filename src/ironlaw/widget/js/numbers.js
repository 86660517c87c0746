// Numbers as people type them: 4,8 and 4.8, 100,000 and 100 000. A browser's own number field drops the comma and reads 48.

// What a text can mean, by the rules of ironlaw.recall.card_answers: "1,024" is 1024 or 1.024, "3,5" is 3.5, "abc" is nothing.
function readNumber(text) {
  const digits = text.replace(/[\s\u202f\u00a0_']/g, "").replace("\u2212", "-").replace(/[.,]+$/, "");
  if (!/^[-+]?(\d[\d.,]*|[.,]\d+)(e[-+]?\d+)?$/i.test(digits)) return [];
  const [points, commas] = [".", ","].map((sign) => digits.split(sign).length - 1);
  const number = (written) => [written].map(Number).filter(Number.isFinite);
  if (points && commas) {
    const decimal = digits.lastIndexOf(",") > digits.lastIndexOf(".") ? "," : ".";
    return number(digits.replaceAll(decimal === "," ? "." : ",", "").replace(",", "."));
  }
  if (points > 1 || commas > 1) return number(digits.replace(/[.,]/g, ""));
  if (!commas) return number(digits);
  const decimal = digits.replace(",", ".");
  return /^[-+]?[1-9]\d{0,2},\d{3}$/.test(digits) ? [...number(digits.replace(",", "")), ...number(decimal)] : number(decimal);
}

// As it stands in a field: separators from five digits on.
const fieldText = (value) => (Math.abs(value) >= 1e4 ? grouped(String(value)) : String(value));

// A field for a number; up and down go a step, as in the browser's own.
const numberField = ({ least, most, value, step, ...attributes }) => h("input", {
  type: "text", class: "il-numeral", role: "spinbutton", autocomplete: "off", "aria-valuemin": Number.isFinite(least) ? least : null,
  "aria-valuemax": Number.isFinite(most) ? most : null, "aria-valuenow": readNumber(value)[0] ?? null, value, ...attributes,
  onkeydown: (event) => {
    const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (way && step) {
      event.preventDefault();
      step(way);
    } else attributes.onkeydown?.(event);
  },
});
