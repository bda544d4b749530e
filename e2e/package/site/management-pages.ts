// The pages of the site that are made from the management interface: its schedule, and its error codes.

import { ERRORS } from '../../../packages/management/call/error-codes.ts';
import { scheduleMarkdown } from '../../../packages/management/schedule/markdown.ts';

/** The text of each page, by its name. */
export const MANAGEMENT_PAGES: Readonly<Record<string, () => string>> = {
  'management-schedule': scheduleMarkdown,
  'management-errors': errorsMarkdown,
};

function errorsMarkdown(): string {
  const codes = Object.values(ERRORS).sort((a, b) => a.code - b.code);
  return [
    '# Error codes of the management interface',
    '',
    "Described: the description names the code. Known: the provider's clients know it. Invented: the emulator's own.",
    '',
    'code | status | origin | meaning',
    '---|---|---|---',
    ...codes.map(({ code, status, origin, meaning }) =>
      [code, status, origin, meaning].join(' | '),
    ),
    '',
  ].join('\n');
}
