// A fake undo stack whose state a test sets.

const NO_UNDO_STATE = { canUndo: false, canRedo: false, undoLabel: null, redoLabel: null };

export class FakeStack extends EventTarget {
  state = { ...NO_UNDO_STATE, conflict: null, error: null };
  readonly calls: string[] = [];
  become(change: object): void {
    this.state = { ...this.state, ...change };
    this.dispatchEvent(new Event('change'));
  }
  async undo() {
    this.calls.push('undo');
    return true;
  }
  async redo() {
    this.calls.push('redo');
    return true;
  }
  skip() {
    this.calls.push('skip');
    return true;
  }
}
