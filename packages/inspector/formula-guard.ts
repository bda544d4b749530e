// Texts in CSV that a spreadsheet would run as a formula: saving puts an apostrophe before such a text, which makes
// it text in a spreadsheet, and reading removes it. A text that begins with such an apostrophe itself is saved with
// one more, so that reading a saved file gives the same texts.
//
// Numbers and phone numbers may begin with a sign; they cannot call anything, and stay as they are.

const FORMULA = /^[=+\-@\t\r]/;
const GUARDED = /^'+[=+\-@\t\r]/;
const NUMBERS_ONLY = /^[+-][\d ().,-]*$/;

export function guardedText(text: string): string {
  const isFormula = FORMULA.test(text) && !NUMBERS_ONLY.test(text);
  return isFormula || GUARDED.test(text) ? `'${text}` : text;
}

export function unguardedText(text: string): string {
  return GUARDED.test(text) ? text.slice(1) : text;
}
