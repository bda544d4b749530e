// Shows a problem where it happened: the failed action, its code and message, and buttons for what the user can do.

import type { ComponentChildren } from 'preact';
import type { Problem } from './problem.ts';

export interface ProblemNoteProps {
  readonly title: string;
  readonly problem: Problem;
  /** The buttons that the note offers. */
  readonly children?: ComponentChildren;
}

export function ProblemNote({ title, problem, children }: ProblemNoteProps) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{title}</p>
      <p>
        <code class="problem-code">{problem.code}</code> {problem.message}
      </p>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}
