// Decodes JSON that a client sent, up to a limit of nesting.
//
// The limit keeps every later recursive step (a check, a merge, JSON.stringify) from running out of stack.

import { apiError } from './call.ts';

const JSON_DEPTH_MAX = 64;

/** Decodes the text. @throws ApiError 400 if the text is not JSON, or is nested too deeply */
export function parsedJson(text: string): unknown {
  if (isTooDeep(text)) {
    const fact = `The body is nested more than ${JSON_DEPTH_MAX} levels deep.`;
    throw apiError('BODY_INVALID', fact);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw apiError('BODY_INVALID', `The body is not JSON: ${(error as Error).message}.`);
  }
}

/** Returns whether the JSON is nested too deeply. It scans the text, because a parser may itself recurse. */
export function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (isInString) {
      if (character === '\\') i += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > JSON_DEPTH_MAX) return true;
  }
  return false;
}
