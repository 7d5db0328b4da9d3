// Browsers start no worker from a file. There the script of the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  const deliver = (receiver, message) => {  // a copy, later, as from a worker
    const data = structuredClone(message);
    setTimeout(() => receiver.onmessage && receiver.onmessage({ data }));
  };
  window.Worker = class {
    constructor(url) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.srcdoc = "";
      this.frame.onload = () => this.start(new URL(url, location.href).href);
      document.body.append(this.frame);
    }
    start(url) {
      this.frame.onload = null;
      this.inner = this.frame.contentWindow;
      this.inner.postMessage = data => deliver(this, data);
      const script = this.inner.document.createElement("script");
      script.onload = () => { const all = this.waiting; this.waiting = null; all.forEach(data => this.postMessage(data)); };
      script.onerror = event => this.onerror && this.onerror(event);
      script.src = url;
      this.inner.document.body.append(script);
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else deliver(this.inner, data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
