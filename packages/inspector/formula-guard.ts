// Guards texts in CSV that a spreadsheet would run as a formula. Saving puts an apostrophe before such a text, so that
// a spreadsheet reads it as text, and importing removes it. A text that begins with such an apostrophe itself is saved
// with one more, so that importing a saved file gives the same texts.
//
// Numbers and phone numbers that begin with a sign stay as they are, because they cannot call a function.

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
