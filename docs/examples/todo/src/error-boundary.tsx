// Shows an error instead of its children, and its children again when the user asks for it.

import { Component, type ReactNode } from 'react';

export class ErrorBoundary extends Component<{ children: ReactNode }> {
  override state: { readonly failure: { readonly error: unknown } | null } = { failure: null };

  static getDerivedStateFromError(error: unknown) {
    return { failure: { error } };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <p role="alert">
        {String(failure.error)}{' '}
        <button type="button" onClick={() => this.setState({ failure: null })}>
          Try again
        </button>
      </p>
    );
  }
}
