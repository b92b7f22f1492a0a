/* Browsers start no workers from files. Opened from a folder, the search runs in a hidden frame instead: it loads the
   same script, and messages go to and fro as they would with a worker. Nothing is done when a server sends the site. */
(() => {
  if (location.protocol !== "file:") return
  const inside = address => `<script>
    var listeners = []
    window.addEventListener("message", event => {
      if (event.source === parent) for (const heard of listeners) heard({data: event.data})
    })
    self.addEventListener = (kind, heard) => { if (kind === "message") listeners.push(heard) }
    self.postMessage = data => parent.postMessage(data, "*")
    self.importScripts = (...more) => Promise.all(more.map(src => new Promise((done, failed) => {
      const script = document.createElement("script")
      script.src = new URL(src, ${JSON.stringify(address)})
      script.onload = done, script.onerror = failed
      document.head.append(script)
    })))
  <\/script><script src="${address}"><\/script>`
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      this.frame.srcdoc = inside(new URL(url, location.href).href)
      this.frame.onload = () => { this.waiting.forEach(data => this.send(data)); this.waiting = null }
      window.addEventListener("message", event => {
        if (event.source !== this.frame.contentWindow) return
        const found = new MessageEvent("message", {data: event.data})
        this.dispatchEvent(found)
        if (this.onmessage) this.onmessage(found)
      })
      document.body.append(this.frame)
    }
    send(data) { this.frame.contentWindow.postMessage(data, "*") }
    postMessage(data) { if (this.waiting) this.waiting.push(data); else this.send(data) }
    terminate() { this.frame.remove() }
  }
})()
