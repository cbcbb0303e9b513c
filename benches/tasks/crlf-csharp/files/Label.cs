namespace Signs
{
    /// <summary>A label on a shelf.</summary>
    public class Label
    {
        public const int MaxLength = 160;

        public string Text { get; set; } = "";
        public int Width { get; set; } = 16;
        public int Height { get; set; } = 16;

        public bool Fits()
        {
            return Text.Length <= MaxLength;
        }
    }
}
