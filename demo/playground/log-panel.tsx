// Shows the answers of calls and the lines of the console, the newest first.

import { formatDurationMs } from '../ui/format.ts';
import type { Answer } from './calls.ts';
import { goTo } from './code-pane.tsx';
import { type LogEntry, log, placeIn } from './session.ts';

export function LogPanel() {
  const entries = log.value;
  return (
    <section class="side-panel" aria-label="Results and console">
      <h2>Results and console</h2>
      {entries.length === 0 && <p class="empty">Answers of calls, and the output of the code.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll a long list */}
      <ol class="log" tabIndex={0} aria-label="Entries, the newest first">
        {entries.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

function Entry({ entry }: { entry: LogEntry }) {
  switch (entry.kind) {
    case 'console':
      return (
        <li class="log-entry" data-level={entry.entry.level}>
          <span class="log-source">console</span> <code>{entry.entry.text}</code>
        </li>
      );
    case 'socket':
      return (
        <li class="log-entry">
          <span class="log-source">socket</span> <code>{entry.line}</code>
        </li>
      );
    case 'call':
      return (
        <li class="log-entry">
          <code class="log-call">{entry.title}</code>
          {entry.answer === null ? (
            <span class="entry-type">waiting…</span>
          ) : (
            <>
              <span class="entry-type">{formatDurationMs(entry.durationMs)}</span>
              <AnswerText answer={entry.answer} />
            </>
          )}
        </li>
      );
  }
}

function AnswerText({ answer }: { answer: Answer }) {
  if (answer.kind === 'value') return <pre class="log-value">{String(answer.text)}</pre>;
  const { code, message, stack } = answer.failure;
  const place = placeIn(String(stack));
  return (
    <p class="log-failure">
      <code class="problem-code">{String(code)}</code> {String(message)}{' '}
      {place !== null && (
        <button type="button" class="link" onClick={() => goTo(place)}>
          line {place.line} of {place.path}
        </button>
      )}
    </p>
  );
}
